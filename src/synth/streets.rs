//! Street names, as spelt in the national address base and in the tax office's files.

use std::sync::LazyLock;

use super::ban::afnor::capitals;
use super::ban::words::split;

/// Kinds of street in both spellings, with their weight.
pub const KINDS: [(&str, &str, f64); 9] = [
    ("Rue", "RUE", 62.0),
    ("Avenue", "AV", 10.0),
    ("Chemin", "CHE", 8.0),
    ("Boulevard", "BD", 4.0),
    ("Place", "PL", 3.0),
    ("Impasse", "IMP", 5.0),
    ("Allée", "ALL", 4.0),
    ("Route", "RTE", 3.0),
    ("Square", "SQ", 1.0),
];

/// Street names with their article, in both spellings.
pub static NAMES: LazyLock<Vec<(&str, String)>> = LazyLock::new(|| {
    let names = split(
        "de la République, Victor Hugo, Jean Jaurès, Pasteur, de l'Église, du Général de Gaulle, Gambetta, des \
         Écoles, de la Gare, du Moulin, de Verdun, du 8 Mai 1945, du 11 Novembre 1918, Émile Zola, Jules Ferry, \
         de la Fontaine, des Lilas, du Stade, de la Paix, Voltaire, Anatole France, Jean Moulin, Pierre Curie, \
         Marie Curie, Aristide Briand, du Château, des Jardins, du Bois, des Vignes, de la Mairie, du Lavoir, des \
         Prés, Lamartine, Molière, Racine, Claude Debussy, Georges Clemenceau, du Maréchal Foch, du Maréchal \
         Leclerc, Saint-Martin, Saint-Jean, Saint-Michel, Notre-Dame, des Acacias, des Peupliers, des Tilleuls, \
         des Cerisiers, des Roses, de Bellevue, du Soleil, de la Poste, du Commerce, de la Liberté, Carnot, \
         Thiers, Louis Blanc, Alsace-Lorraine, de Strasbourg, de Paris, de Lyon, de Bordeaux, de la Plage, du \
         Port, des Remparts, Basse, Haute, Neuve, Traversière, du Four, du Puits, de la Croix, du Calvaire, du \
         Cimetière, des Champs, de la Forêt, de la Vallée, de la Rivière, du Pont, du Ruisseau, des Artisans, de \
         l'Industrie, Ampère, Lavoisier, Diderot, Descartes, Berlioz, Paul Cézanne, Claude Monet, Guynemer, Jean \
         Mermoz, Salvador Allende, Nelson Mandela, Simone Veil, Louise Michel, George Sand, Rosa Parks",
    );
    let both = names.into_iter().map(|name| (name, capitals(name)));
    both.collect()
});
