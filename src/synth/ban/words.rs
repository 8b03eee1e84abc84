//! Words of French street names, most frequent first: the names that occur in every town, and the parts from which
//! [`super::names`] composes rare ones.

use std::sync::LazyLock;

/// A list of words that is split on first use.
pub type Words = LazyLock<Vec<&'static str>>;

/// Splits a list at its commas.
pub(crate) fn split(list: &'static str) -> Vec<&'static str> {
    list.split(", ").collect()
}

/// Famous people, with their names as written after the type of street.
pub static FAMOUS: Words = LazyLock::new(|| {
    split(
        "Jean Moulin, Victor Hugo, Jean Jaurès, Pasteur, du Général de Gaulle, Charles de Gaulle, Jules Ferry, \
     Frédéric Mistral, Gambetta, Émile Zola, du Maréchal Leclerc, du Maréchal Foch, Jean Mermoz, Georges \
     Brassens, Jacques Prévert, Pierre Curie, Marie Curie, Louis Pasteur, Anatole France, Aristide Briand, \
     Jacques Brel, Voltaire, Lamartine, Antoine de Saint-Exupéry, Georges Clemenceau, Claude Debussy, Maurice \
     Ravel, Molière, George Sand, Paul Cézanne, Claude Monet, Paul Éluard, Hector Berlioz, du Maréchal Joffre, \
     Salvador Allende, Nelson Mandela, Simone Veil, Louise Michel, Rosa Parks, Arthur Rimbaud, Paul Verlaine, \
     Charles Baudelaire, Guy de Maupassant, Gustave Flaubert, Honoré de Balzac, Alphonse Daudet, Jean de La \
     Fontaine, Marcel Pagnol, Jean Giono, Jean-Jacques Rousseau, Diderot, Montesquieu, Descartes, Racine, \
     Corneille, Rabelais, Ronsard, Jeanne d'Arc, Vauban, Colbert, Mirabeau, Danton, Robespierre, Saint-Just, \
     Lafayette, Lazare Carnot, Hoche, Kléber, Marceau, Bayard, Henri IV, Napoléon, Thiers, Carnot, Ledru-Rollin, \
     Louis Blanc, Léon Blum, Pierre Mendès France, François Mitterrand, du Président Kennedy, du Président \
     Wilson, Winston Churchill, Franklin Roosevelt, Pierre Brossolette, Gabriel Péri, Guy Môquet, Danielle \
     Casanova, Marcel Cachin, Maurice Thorez, Ambroise Croizat, Henri Barbusse, Romain Rolland, Louis Aragon, \
     Elsa Triolet, Albert Camus, Boris Vian, Colette, Marguerite Yourcenar, Simone de Beauvoir, Olympe de Gouges, \
     Lucie Aubrac, Berthie Albrecht, Camille Claudel, Édith Piaf, Auguste Rodin, Auguste Renoir, Vincent van \
     Gogh, Paul Gauguin, Édouard Manet, Henri Matisse, Pablo Picasso, Toulouse-Lautrec, Eugène Delacroix, Gustave \
     Courbet, Camille Corot, Georges Bizet, Charles Gounod, Camille Saint-Saëns, Mozart, Frédéric Chopin, Ampère, \
     Lavoisier, Blaise Pascal, Denis Papin, Gay-Lussac, Branly, Gutenberg, Gustave Eiffel, Clément Ader, Louis \
     Blériot, Roland Garros, Guynemer, Hélène Boucher, Maryse Bastié, Albert Schweitzer, Alexander Fleming, \
     Claude Bernard, Laennec, Buffon, Réaumur, Albert Einstein, Youri Gagarine, Pierre de Coubertin",
    )
});

/// Buildings, works and features that most communes have.
pub static THINGS: Words = LazyLock::new(|| {
    split(
        "de l'Église, de la Fontaine, de la Mairie, du Moulin, des Jardins, de la Gare, du Stade, du Château, du \
     Four, de la République, des Écoles, du Lavoir, des Vignes, des Remparts, de l'École, de la Tour, de la \
     Liberté, de la Croix, de la Paix, de la Chapelle, de la Source, de la Poste, du Pont, du Couvent, de la \
     Plaine, de Verdun, du Centre, du Lac, du Marché, des Champs, du Château d'Eau, du Cimetière, de la Forge, du \
     Presbytère, du Bois, des Sources, du Puits, du Ruisseau, de la Forêt, de la Vallée, des Prés, de la Rivière, \
     du Verger, de la Prairie, du Port, de la Plage, de l'Étang, de la Résistance, du Commerce, de la Grange, des \
     Granges, du Calvaire, de la Garenne, de l'Hôpital, de la Halle, de la Côte, du Coteau, des Coteaux, de \
     l'Abbaye, du Prieuré, de la Cure, du Pressoir, de la Carrière, des Carrières, de la Fraternité, de \
     l'Égalité, de la Libération, de la Victoire, du Pigeonnier, du Canal, de l'Écluse, du Barrage, de la Digue, \
     du Gué, des Marais, de la Ferme, du Parc, de l'Arbre, des Acacias, du Belvédère, du Panorama, de Bellevue, \
     du Soleil, du Levant, du Couchant, du Midi, du Nord, de l'Industrie, de l'Artisanat, de l'Europe, du \
     Théâtre, du Collège, de la Crèche, du Lycée, du Gymnase, de la Piscine, du Foyer, de la Salle des Fêtes, du \
     Monument, du Souvenir, de la Briqueterie, de la Tuilerie, de la Verrerie, de la Filature, de la Scierie, de \
     la Sablière, de la Gravière, de la Ballastière, des Mines, de l'Usine, de la Coopérative, de la Cave, de la \
     Distillerie, de la Laiterie, de la Bascule, de l'Octroi, de la Barrière, de la Porte, du Rempart, du \
     Bastion, du Donjon, des Douves, du Fort, de la Citadelle, de la Caserne, du Champ de Foire, du Champ de \
     Mars, du Jeu de Paume, du Jeu de Boules, du Vallon, de la Butte, de la Passerelle, du Viaduc",
    )
});

/// Trees, flowers, crops and animals.
pub static NATURE: Words = LazyLock::new(|| {
    split(
        "des Lilas, des Acacias, des Tilleuls, des Rosiers, des Pins, des Chênes, des Amandiers, des Fleurs, des \
     Genêts, des Mésanges, des Peupliers, des Violettes, des Iris, des Oliviers, des Roses, des Cerisiers, des \
     Platanes, des Marronniers, des Bleuets, des Érables, des Hêtres, des Noyers, des Ormes, des Bouleaux, des \
     Sapins, des Cèdres, des Frênes, des Saules, des Pommiers, des Poiriers, des Pruniers, des Pêchers, des \
     Châtaigniers, des Noisetiers, des Charmes, des Aubépines, des Glycines, des Primevères, des Coquelicots, des \
     Jonquilles, des Tulipes, des Pervenches, des Hirondelles, des Fauvettes, des Alouettes, des Rossignols, des \
     Pinsons, des Bruyères, des Mimosas, des Lauriers, des Cyprès, des Figuiers, des Mûriers, des Micocouliers, \
     des Buis, des Fougères, des Ajoncs, des Houx, des Églantines, des Églantiers, du Muguet, des Marguerites, \
     des Dahlias, des Hortensias, des Camélias, des Magnolias, des Capucines, des Pivoines, des Orchidées, des \
     Anémones, des Lavandes, du Romarin, du Thym, de la Sauge, des Jasmins, des Troènes, des Sorbiers, des \
     Sureaux, des Mélèzes, des Épicéas, des Aulnes, des Trembles, des Merisiers, des Cormiers, des Néfliers, des \
     Coudriers, des Vendangeurs, des Moissons, des Blés, du Tournesol, des Grives, des Merles, des Bouvreuils, \
     des Chardonnerets, des Tourterelles, des Hérons, des Cigognes, des Mouettes, des Goélands, des Perdrix, des \
     Faisans, des Bécasses, des Cigales, des Grillons, des Papillons, des Abeilles, des Écureuils, des Biches, \
     des Chevreuils, du Cerf, du Loup, du Renard",
    )
});

/// Commemorated dates, in the spellings that occur.
pub static DATES: Words = LazyLock::new(|| {
    split(
        "du 19 Mars 1962, du 8 Mai 1945, du 11 Novembre 1918, du 11 Novembre, du 8 Mai, du 14 Juillet, du 1er Mai, du \
     19 Mars, du 4 Septembre, du 18 Juin 1940, du 6 Juin 1944, du 18 Juin, du 14 Juillet 1789, du Huit Mai 1945, \
     du Onze Novembre, du 4 Août 1789, du 22 Août 1944, du Dix-Neuf Mars 1962",
    )
});

/// Saints, with the hyphen of the official spelling.
pub static SAINTS: Words = LazyLock::new(|| {
    split(
        "Saint-Jean, Saint-Martin, Saint-Michel, Saint-Pierre, Saint-Roch, Notre-Dame, Saint-Antoine, Saint-Nicolas, \
     Saint-Jacques, Saint-Laurent, Sainte-Anne, Saint-Vincent, Saint-Louis, Saint-Joseph, Sainte-Catherine, \
     Saint-Étienne, Saint-Georges, Saint-André, Saint-Paul, Sainte-Marie, Saint-Éloi, Saint-Sauveur, Saint-Denis, \
     Saint-Germain, Saint-Hilaire, Saint-Julien, Saint-Maurice, Sainte-Barbe, Saint-Blaise, Saint-Fiacre, \
     Saint-François, Saint-Sébastien, Saint-Barthélemy, Saint-Thomas, Saint-Christophe, Sainte-Croix, \
     Saint-Aubin, Saint-Marc, Saint-Clair, Saint-Rémy, Saint-Lazare, Saint-Gilles, Saint-Léger, Saint-Privat, \
     Saint-Eutrope, Sainte-Geneviève, Sainte-Marguerite, Saint-Honoré, Saint-Médard, Saint-Mathieu, Saint-Vaast, \
     Saint-Yves, Sainte-Eulalie, Saint-Ferréol, Saint-Cyr, Saint-Bonnet, Sainte-Radegonde, Saint-Amand, \
     Saint-Romain, Sainte-Colombe, Saint-Loup, Saint-Gervais, Saint-Sulpice, Sainte-Cécile, Saint-Éxupère, \
     Sainte-Énimie",
    )
});

/// Trades.
pub static TRADES: Words = LazyLock::new(|| {
    split(
        "des Artisans, des Tanneurs, des Forgerons, des Vignerons, des Bergers, des Tisserands, des Pêcheurs, des \
     Meuniers, des Potiers, des Carriers, des Bouchers, des Maraîchers, des Cordeliers, des Capucins, des Carmes, \
     des Jacobins, des Ursulines, des Pénitents, des Chanoines, des Templiers, des Drapiers, des Tonneliers, des \
     Charpentiers, des Maréchaux, des Orfèvres, des Marchands, des Bateliers, des Mariniers, des Marins, des \
     Corsaires, des Mineurs, des Laboureurs, des Faucheurs, des Bûcherons, des Charbonniers, des Sabotiers, des \
     Verriers, des Vanniers, des Chasseurs, des Archers, des Arbalétriers, des Résistants, des Déportés, des \
     Fusillés, des Maquisards, des Anciens Combattants, des Pèlerins, des Lavandières",
    )
});

/// Adjectives that are used alone after Rue and similar types.
pub static ADJECTIVES: Words = LazyLock::new(|| {
    split(
        "Basse, Haute, Neuve, Vieille, Traversière, Creuse, Droite, Longue, Étroite, Courte, Noire, Verte, Torte, \
     Principale",
    )
});

/// Nouns that are counted in names such as "des Quatre Vents".
pub static COUNTED: Words = LazyLock::new(|| {
    split(
        "Vents, Chemins, Routes, Fontaines, Moulins, Ponts, Croix, Rois, Pierres, Saisons, Frères, Sœurs, Chênes, \
     Tilleuls, Ormes, Fours, Puits, Marches, Clochers, Vallées, Pigeons, Maisons",
    )
});
/// The numbers they are counted with.
pub static COUNTS: Words =
    LazyLock::new(|| split("Deux, Trois, Quatre, Cinq, Six, Sept, Neuf, Dix"));

/// Masculine nouns from which names are composed, without their article.
pub static MASCULINE: Words = LazyLock::new(|| {
    split(
        "Moulin, Pont, Clos, Mas, Bois, Pré, Champ, Puits, Château, Mont, Val, Village, Hameau, Domaine, Ruisseau, \
     Lavoir, Four, Port, Coteau, Vallon, Col, Pas, Plan, Bourg, Jardin, Verger, Gué, Parc, Plateau, Serre, Pont \
     Neuf, Grand Pré, Camp, Clapas",
    )
});
/// Feminine nouns from which names are composed, without their article.
pub static FEMININE: Words = LazyLock::new(|| {
    split(
        "Croix, Fontaine, Combe, Côte, Grange, Ferme, Borie, Métairie, Plaine, Prairie, Lande, Garenne, Vigne, \
     Source, Chapelle, Tour, Motte, Roche, Rivière, Vallée, Butte, Noue, Haie, Mare, Fosse, Bastide, Cabane, \
     Baume, Vaure, Pierre",
    )
});
/// Adjectives before a noun, masculine and feminine.
pub const BEFORE: [(&str, &str); 5] = [
    ("Vieux", "Vieille"),
    ("Grand", "Grande"),
    ("Petit", "Petite"),
    ("Haut", "Haute"),
    ("Bas", "Basse"),
];
/// Adjectives after a noun, masculine and feminine.
pub const AFTER: [(&str, &str); 10] = [
    ("Neuf", "Neuve"),
    ("Vert", "Verte"),
    ("Blanc", "Blanche"),
    ("Rouge", "Rouge"),
    ("Haut", "Haute"),
    ("Bas", "Basse"),
    ("Vieux", "Vieille"),
    ("Noir", "Noire"),
    ("Rond", "Ronde"),
    ("Long", "Longue"),
];

/// First names.
pub static FIRST_NAMES: Words = LazyLock::new(|| {
    split(
        "Jean, Pierre, Paul, Louis, Henri, Joseph, André, Marcel, Georges, Jules, Émile, Charles, François, Jacques, \
     René, Albert, Maurice, Léon, Auguste, Robert, Roger, Raymond, Lucien, Eugène, Gaston, Fernand, Édouard, \
     Antoine, Victor, Alexandre, Gabriel, Étienne, Camille, Édmond, Alfred, Ernest, Gustave, Adrien, Claude, \
     Michel, Philippe, Marius, Théophile, Félix, Clément, Léopold, Benoît, Ferdinand, Augustin, Casimir, Prosper, \
     Hippolyte, Honoré, Sylvain, Anatole, Armand, Arthur, Denis, Guillaume, Hubert, Marie, Jeanne, Marguerite, \
     Louise, Suzanne, Germaine, Madeleine, Simone, Yvonne, Marcelle, Hélène, Julie, Rose, Berthe, Alice, Lucie, \
     Jean-Baptiste, Jean-Pierre, Jean-Marie, Jean-Louis, Pierre-Paul, Marie-Louise, Jean-François, Louis-Philippe",
    )
});
/// Titles before a surname.
pub static TITLES: Words = LazyLock::new(|| {
    split(
        "du Docteur, de l'Abbé, du Général, du Capitaine, du Commandant, du Colonel, du Lieutenant, du Professeur, du \
     Chanoine, du Sergent, de l'Amiral, du Président, du Curé, du Maire, de Monseigneur",
    )
});
/// Surnames that are frequent in France.
pub static SURNAMES: Words = LazyLock::new(|| {
    split(
        "Martin, Bernard, Dubois, Thomas, Robert, Richard, Petit, Durand, Leroy, Moreau, Simon, Laurent, Lefebvre, \
     Michel, Garcia, David, Bertrand, Roux, Vincent, Fournier, Morel, Girard, André, Lefèvre, Mercier, Dupont, \
     Lambert, Bonnet, François, Martinez, Legrand, Garnier, Faure, Rousseau, Blanc, Guérin, Muller, Henry, \
     Roussel, Nicolas, Perrin, Morin, Mathieu, Clément, Gauthier, Dumont, Lopez, Fontaine, Chevalier, Robin, \
     Masson, Sanchez, Gérard, Nguyen, Boyer, Denis, Lemaire, Duval, Joly, Gautier, Roger, Roche, Roy, Noël, \
     Meyer, Lucas, Meunier, Jean, Perez, Marchand, Dufour, Blanchard, Marie, Barbier, Brun, Dumas, Brunet, \
     Schmitt, Leroux, Colin",
    )
});
/// Beginnings and endings of surnames that are composed.
pub static SURNAME_ROOTS: Words = LazyLock::new(|| {
    split(
        "Bal, Bar, Bert, Bess, Bon, Bouch, Bour, Brun, Cabr, Cal, Cam, Carr, Cast, Cau, Chab, Chan, Char, Chass, \
     Chev, Clav, Col, Cord, Cour, Dal, Del, Dub, Dur, Esc, Fab, Fav, Fleur, Fou, Gal, Gar, Gir, Gour, Guil, Jour, \
     Lab, Lag, Mal, Mar, Mich, Mont, Pag, Pel, Per, Pich, Pons, Rau, Rob, Sab, Tal, Tex, Val, Vid",
    )
});
/// See [`SURNAME_ROOTS`].
pub static SURNAME_ENDINGS: Words = LazyLock::new(|| {
    split(
        "ard, aud, ault, eau, el, elin, ent, ier, ière, in, on, ot, and, anges, as, al, albert, andier, ayrol, et, \
     etier, erand, eret, esson, illon, illard, inet, ignac, olle, onnet, oux, oulet, uel, urier, ussac, y",
    )
});

/// Towns after which streets are named everywhere.
pub static CITIES: Words = LazyLock::new(|| {
    split(
        "Paris, Lyon, Strasbourg, Bordeaux, Toulouse, Marseille, Metz, Nantes, Lille, Reims, Rouen, Nancy, Orléans, \
     Tours, Grenoble, Colmar, Belfort, Dijon, Bretagne, Normandie, Bourgogne, Lorraine, Alsace, Provence, Savoie, \
     Flandre",
    )
});
